"""One loader per file format of human judgements."""
