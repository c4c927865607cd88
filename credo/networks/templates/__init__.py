"""Templates: networks of tied copies, slice after slice or member after member."""
