"""The command line: `naive-graph tour`, `naive-graph lessons`, `naive-graph draw`."""
