"""Numbers given the class: independent or jointly Gaussian, spherical, binned."""
