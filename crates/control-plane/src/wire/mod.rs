//! HTTP: from bytes to values and back. No rule about objects lives here.

pub mod decode;
pub mod yaml;
