"""credo learn: a classifier or a regression of a table, chosen, tuned, and scored on held-out rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from credo.cli.engine import runs_on_engines
from credo.cli.network_tables import learn_tables, learns_tables
from credo.cli.options import as_kinds, grouped, read_as, top, weighted
from credo.cli.progress import shown_progress
from credo.cli.reading import opened_data, reads_data
from credo.cli.sequences import learn_sequences, learns_sequences
from credo.cli.single_models import SINGLE_MODELS, OutputFiles, learn_single, remark_written, write_learned

if TYPE_CHECKING:
    from credo.models.classifier import Classifier
    from credo.models.regression.linear import LinearRegression

MODELS = ("auto", "naive-bayes", "gaussian", "tan", "aode", "kdb", "linear")
NETWORK_MODEL = "network"  # with a target, its arrows are learned; without, its tables
HMM_MODEL = "hmm"  # for sequences
TABLE_OPTIONS = ("network", "table_prior", "strength", "hidden", "method", "starts")
SEQUENCE_OPTIONS = ("states", "sequence", "order")
CLASSIFIER_OPTIONS = {"target", "groups", "kinds", "top", "report", "curve", "plot"}
GIVEN_SOURCES = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


@click.command()
@click.argument("data")
@click.option("--target", "-t", metavar="COLUMN", help="The column to predict: classes, or numbers.  [required]")
@click.option(
    "--model",
    type=click.Choice((*MODELS, NETWORK_MODEL, HMM_MODEL, *SINGLE_MODELS)),
    metavar="MODEL",
    default="auto",
    show_default=True,
    help=f"Candidate models: {', '.join((*MODELS, NETWORK_MODEL, HMM_MODEL, *SINGLE_MODELS))}.",
)
@weighted
@grouped
@read_as("category, number, count, date, text, ignore; a number's form, log or binned; or word")
@top(15, "columns")
@click.option("--output", "-o", metavar="FILE", help="A .credo file for the model.")
@click.option("--report", metavar="FILE", help="An .html file for a report.")
@click.option("--learning-curve", "curve", is_flag=True, help="Add a learning curve, scored on a held-out third.")
@click.option("--plot", metavar="FILE", help="A .png, .svg or .pdf file: the learning curve, the tree, or weights.")
@learns_tables
@learns_sequences
@runs_on_engines
@reads_data
def learn(
    data: str,
    target: str | None,
    top: int,
    output: str | None,
    report: str | None,
    curve: bool,
    plot: str | None,
    **how: Any,
) -> None:
    """Learn to predict a column from the others, and report scores.

    DATA is a file (.csv .tsv .jsonl .parquet .arrow, also .csv.gz), a pattern such as 'logs/*.csv', or - (standard
    input). Its columns may be categories, numbers of any scale, dates and texts, with missing cells. Or DATA is a
    folder of folders of documents, text files and mail (.eml .mbox): the name of a document's folder is its label, in
    the column `label`; the column `text` holds the documents. Several models are tried and scored on held-out rows.
    Fractional numbers, and whole numbers with more than 20 values, are predicted by regression; --kind y=category or
    y=number overrides this.

    \b
    Examples:
      credo learn pumps.csv --target fault -o pumps.credo
      credo learn pumps.csv --target fault --report pumps.html
      credo learn mail/ --target label -o mail.credo --report mail.html
      credo learn mail.csv --target label --learning-curve --plot curve.png
      credo learn visits.parquet -t bought --kind zip=category --kind price=log
      credo learn survey.csv -t answer --weight persons --model naive-bayes
      credo learn visits.csv -t sick --groups patient
      credo learn cars.csv -t class --model tan
      credo learn cars.csv -t class --model network
      credo learn 'logs/*.parquet' -t bought --engine dask
      credo learn houses.csv -t price
      credo learn cars.csv -t class --model tree --plot tree.png
      credo learn cars.csv -t class --model logistic

    With --network, the tables of a belief network are learned instead: by counting, or by EM with missing cells and
    hidden variables.

    \b
      credo learn patients.csv --network alarm.bif --strength 50 -o alarm.credo
      credo learn fires.csv --network 'Storm -> Fire <- Camp' --hidden Camp=2

    With --model hmm, rows are sequences, and their hidden states are inferred by EM, or counted if --target gives them.

    \b
      credo learn visits.csv --model hmm --sequence visitor --states 3
      credo learn tagged.tsv --model hmm --sequence id -t tag --kind word=word
    """
    from credo.cli.arguments import check_no_model

    check_no_model("learn", data)
    files = OutputFiles(output, report, plot)
    tables = {name: how.pop(name) for name in TABLE_OPTIONS}
    sequences = {name: how.pop(name) for name in SEQUENCE_OPTIONS}
    ctx = click.get_current_context()
    given = {each.name for each in ctx.command.params if ctx.get_parameter_source(each.name or "") in GIVEN_SOURCES}
    if how["model"] == HMM_MODEL:
        others = {*TABLE_OPTIONS, "groups", "top", "report", "curve", "plot"}
        refuse_options(given & others, "a hidden Markov model has no")
        asked = as_kinds(how["kinds"])
        return learn_sequences(data, target=target, weight=how["weight"], kinds=asked, output=output, **sequences)
    refuse_options(given & {*SEQUENCE_OPTIONS}, "only a hidden Markov model (--model hmm) has")
    if tables["network"] is not None or (how["model"] == NETWORK_MODEL and target is None):
        refuse_options(given & CLASSIFIER_OPTIONS, "a network's tables are learned without")
        return learn_tables(data, weight=how["weight"], output=output, **tables)
    refuse_options(given & {*TABLE_OPTIONS}, "only a network (--network) has")
    if how["model"] in SINGLE_MODELS:
        refuse_options(given & {"curve"}, f"--model {how['model']} has no")
        how["kinds"], shown = as_kinds(how["kinds"]), top if "top" in given else None
        return learn_single(data, target, files, top=shown, **how)
    return _learn_chosen(data, target, files, top, curve, **how)


def _learn_chosen(data: str, target: str | None, files: OutputFiles, top: int, curve: bool, **how: Any) -> None:
    """Choose among candidates: a classifier, or a regression where the target is a number."""
    from credo.cli.arguments import column_asked_for
    from credo.cli.output import check_outputs
    from credo.models.regression.linear import LinearRegression
    from credo.present.classifiers import curve_content, learned_content
    from credo.present.regression import learned_regression_content
    from credo.present.terminal import show

    target = column_asked_for(data, target, "--target", "which column holds the classes")
    check_outputs(*files)
    with shown_progress("learning"):
        table = opened_data(data)
        model = learned(table, target, **how)
        if isinstance(model, LinearRegression):
            refuse_options({"curve"} if curve else set(), f"{target!r} is predicted by regression, which has no")
            write_learned(model, files)
            found = None
        else:
            found = model.learning_curve(table, weight=how["weight"]) if curve or files.picture else None
            _write_classifier(model, data, table, found, files)
    if isinstance(model, LinearRegression):
        show(learned_regression_content(model, data, top))
    else:
        show([*learned_content(model, data, top), *(curve_content(found) if found is not None else [])])
    remark_written(files)


def _write_classifier(model: Classifier, data: str, table: object, curve: Any, files: OutputFiles) -> None:
    """Write the files, before printing, which a closed pipe may interrupt."""
    from credo.storage.files import save

    if files.model:
        save(model, files.model)
    if files.page:
        from credo.present.classifier_page import classifier_page

        classifier_page(model, files.page, examples=table, curve=curve, file=data)
    if files.picture:
        from credo.present.plotting import save_figure

        save_figure(curve.plot(), files.picture)


def refuse_options(names: set[str], why: str) -> None:
    for name in sorted(names):
        option = {"kinds": "kind", "curve": "learning-curve"}.get(name, name.replace("_", "-"))
        raise click.UsageError(f"{why} --{option}")


def learned(
    data: Any, target: str, *, model: Any, weight: str | None, kinds: dict[str, str], groups: str | None = None
) -> Classifier | LinearRegression:
    """The pooled model of all kinds or of one; for a numeric target, a regression."""
    import credo

    found: Classifier | LinearRegression = credo.learn(
        data, target, model=model, kinds=as_kinds(kinds) or None, weight=weight, groups=groups
    )
    return found
