"""Why a pair got its score: alignments in words, contributions, and how well they find errors."""
