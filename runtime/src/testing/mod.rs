//! What users need to test their own code.
