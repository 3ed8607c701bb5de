"""Tokenizers, words, stop words, languages, idf and annotation."""
