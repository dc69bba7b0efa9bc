//! Small inputs from large ones.

/// The smallest input that was found with which `fails` still says so, after at most `tries`
/// questions: stretches are left out, first long ones, then short ones.
pub fn minimise(input: &[u8], mut tries: usize, mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut smallest = input.to_vec();
    let mut len = smallest.len().div_ceil(2);
    while len > 0 && tries > 0 {
        let mut start = 0;
        let mut shorter = false;
        while start < smallest.len() && tries > 0 {
            let end = (start + len).min(smallest.len());
            let candidate = [&smallest[..start], &smallest[end..]].concat();
            tries -= 1;
            if fails(&candidate) {
                smallest = candidate;
                shorter = true;
            } else {
                start = end;
            }
        }
        if len == 1 && !shorter {
            break;
        }
        len = if len > 1 { len / 2 } else { 1 };
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_that_matter_stay() {
        let input: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let fails = |bytes: &[u8]| bytes.contains(&7) && bytes.contains(&200);
        let smallest = minimise(&input, 10_000, fails);
        assert_eq!(smallest, [7, 200]);
    }

    #[test]
    fn questions_are_few() {
        let mut asked = 0;
        let input = vec![1; 1000];
        let smallest = minimise(&input, 50, |bytes| {
            asked += 1;
            bytes.len() > 900
        });
        assert!(asked == 50 && smallest.len() < 1000 && smallest.len() > 900, "{asked} {}", smallest.len());
    }
}
