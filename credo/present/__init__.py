"""Presentation of models and answers, from plain data: terminal, SVG, HTML, notebook."""
