"""The corpora of ../shared/data/text, which benchmarks read where they are there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "text"

Corpus = tuple[Any, Any]  # texts and labels, as arrays


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _arrays(texts: list[str], labels: list[str]) -> Corpus:
    return np.array(texts, dtype=object), np.array(labels)


def newsgroups() -> Corpus:
    rows = _lines(FOLDER / "20newsgroups" / "20news-bydate-train.jsonl.gz")
    return _arrays([row["text"] for row in rows], [row["label"] for row in rows])


def newsgroup_numbers() -> Any:
    """The messages' numbers, which grow with time within a group."""
    rows = _lines(FOLDER / "20newsgroups" / "20news-bydate-train.jsonl.gz")
    return np.array([int(str(row["id"]).rpartition("/")[2]) for row in rows])


def sms() -> Corpus:
    """Duplicates removed."""
    lines = (FOLDER / "sms_spam" / "SMSSpamCollection.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = list(dict.fromkeys(tuple(line.split("\t", 1)) for line in lines))
    return _arrays([text for _, text in rows], [label for label, _ in rows])


def imdb() -> Corpus:
    rows = _lines(FOLDER / "imdb" / "imdb-train.jsonl.gz")
    return _arrays([row["text"] for row in rows], [str(row["label"]) for row in rows])


def trec() -> Corpus:
    rows = _lines(FOLDER / "trec_qc" / "trec-qc-train.jsonl.gz")
    return _arrays([row["text"] for row in rows], [str(row["label"]) for row in rows])
