"""The screens of the page, one for each kind of model."""
