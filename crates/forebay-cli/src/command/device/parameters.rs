//! A description as flat fields: a nested field has a dot in its name, and lists are texts.

use forebay_device::Description;
use serde_json::{Map, Value};

/// Characters of a list that a terminal shows.
const SHOWN: usize = 60;

/// Appends the parameters of the description's model, with its kind before their names; lists are
/// cut short if they are for `people`.
pub(super) fn append(description: &Description, people: bool, fields: &mut Map<String, Value>) {
    let model = serde_json::to_value(&description.model).unwrap_or_default();
    flatten("", model, people, fields);
}

fn flatten(name: &str, value: Value, people: bool, fields: &mut Map<String, Value>) {
    match value {
        Value::Object(inner) => {
            for (key, value) in inner {
                let name = if name.is_empty() { key } else { format!("{name}.{key}") };
                flatten(&name, value, people, fields);
            }
        }
        Value::Array(items) => {
            let text = items.iter().map(text).collect::<Vec<_>>().join(" ");
            let text = if people { shortened(&text, items.len()) } else { text };
            fields.insert(name.to_owned(), text.into());
        }
        Value::Null => {}
        value => {
            fields.insert(name.to_owned(), value);
        }
    }
}

/// An item of a list: a pair is x:y.
fn text(item: &Value) -> String {
    match item {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(":"),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| format!("{key}={}", text(value))).collect::<Vec<_>>().join(",")
        }
        value => value.to_string(),
    }
}

fn shortened(text: &str, items: usize) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    let shown: String = text.chars().take(SHOWN).collect();
    let whole = shown.rsplit_once(' ').map_or(shown.as_str(), |(whole, _)| whole);
    format!("{whole} … ({items})")
}

#[cfg(test)]
mod tests {
    use forebay_device::device;

    use super::*;

    fn fields(name: &str, people: bool) -> Map<String, Value> {
        let mut fields = Map::new();
        append(&device(name).expect("shipped"), people, &mut fields);
        fields
    }

    #[test]
    fn nothing_is_left_out() {
        let fields = fields("ibm-10k", false);
        assert_eq!(fields["disk.rpm"], 10_000.0);
        assert_eq!(fields["disk.seek.two_part.knee"], 0.12);
        assert_eq!(fields["disk.zones.sectors"], "810 781 752 724 695 666 637 609 580 551 522 494");
        assert!(fields.values().all(|value| !value.is_object() && !value.is_array()));
    }

    #[test]
    fn long_lists_are_cut_short_for_people() {
        assert_eq!(
            fields("ibm-10k", true)["disk.zones.cylinders"],
            "2272 2272 2272 2272 2272 2272 2272 2272 2272 2272 2272 2272"
        );
        assert_eq!(shortened(&"12345 ".repeat(100), 100), format!("{}… (100)", "12345 ".repeat(10)));
    }
}
