//! Every object Terrace serves.
