"""What the page shows: one screen for each kind of model."""
