//! Floating point: read, computed with, written.

/// Reads numbers, one per word, and answers for each its form and what some functions
/// make of it, and the orbit of a point for all together.
pub fn floats(input: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(input);
    let mut answer = String::new();
    let mut sum = 0.0f64;
    for word in text.split_whitespace() {
        let Ok(x) = word.parse::<f64>() else {
            answer.push_str(&format!("{word}: not a number\n"));
            continue;
        };
        let single = x as f32;
        answer.push_str(&format!(
            "{x:?} {x:e} {single} {:.6} {:.9} {} {} {}\n",
            x.abs().sqrt(), x.rem_euclid(7.25), x.floor(), x as i64, x as u8,
        ));
        if x.is_finite() {
            sum += x.clamp(-1e6, 1e6);
        }
    }
    answer.push_str(&format!("{sum} {}", mandelbrot(32)));
    answer.into_bytes()
}

/// Counts the rounds until the points of a grid of that width have escaped.
fn mandelbrot(width: u32) -> u64 {
    let mut rounds = 0;
    for row in 0..width {
        for column in 0..width {
            let (cx, cy) = (f64::from(column) / f64::from(width) * 3.0 - 2.0, f64::from(row) / f64::from(width) * 2.0 - 1.0);
            let (mut x, mut y) = (0.0, 0.0);
            for _ in 0..200 {
                if x * x + y * y > 4.0 {
                    break;
                }
                (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
                rounds += 1;
            }
        }
    }
    rounds
}
