"""Models: what they share is the loop; they differ in how they infer."""
