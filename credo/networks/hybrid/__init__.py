"""Networks of categories and numbers: tables, conditional linear-Gaussian nodes, logistic nodes."""
