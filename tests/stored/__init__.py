"""Files that earlier versions of credo wrote, and the answers that their models gave."""
