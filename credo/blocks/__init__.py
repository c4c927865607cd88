"""Blocks of columns: blocks are independent of each other given the class."""
