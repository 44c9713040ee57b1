"""What a heap tells: JVM dumps and histograms, and the entries that acking has left in them."""
