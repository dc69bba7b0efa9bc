//! The parameters of a generated workload as a description gives them: texts by name. A number or a
//! truth value stands for its text, so that `tasks = 3000` is what `tasks = "3000"` is.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::Value;

/// For `deserialize_with`.
pub(crate) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    let text = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => Ok((name, value.to_string())),
        _ => Err(D::Error::custom(format!("`{name}` is neither a text nor a number"))),
    };
    BTreeMap::<String, Value>::deserialize(from)?.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Load {
        #[serde(default, deserialize_with = "texts")]
        parameters: BTreeMap<String, String>,
    }

    #[test]
    fn a_number_is_its_text() {
        let load: Load = toml::from_str("parameters = { tasks = 4, alpha = 0.5, stride = \"8MiB\" }").unwrap();
        let list: Vec<&str> = load.parameters.values().map(String::as_str).collect();
        assert_eq!(list, ["0.5", "8MiB", "4"]);
        let error = toml::from_str::<Load>("parameters = { tasks = [4] }").err().unwrap().to_string();
        assert!(error.contains("`tasks` is neither a text nor a number"), "{error}");
        assert!(toml::from_str::<Load>("").unwrap().parameters.is_empty());
    }
}
