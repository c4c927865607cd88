"""What is believed of parameters: one belief, many, any likelihood; comparisons."""
