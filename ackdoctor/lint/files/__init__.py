"""Which files a run looks at, and which of them are worth lowering, with which others."""
