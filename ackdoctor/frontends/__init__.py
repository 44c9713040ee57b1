"""Source text to `Unit`: one package per language, each with `lower_source`; `lowering` is what they share."""
