"""Each language as its bytes tell it: classes, imports, comments; no parser yet."""
