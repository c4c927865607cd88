"""Everything that people see, from plain data: terminal, SVG, HTML, notebook."""
