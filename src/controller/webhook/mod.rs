//! Defaulting and validation of what comes in, as plain functions.
