"""Model selection and tuning on held-out rows."""
