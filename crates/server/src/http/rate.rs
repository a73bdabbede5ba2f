//! How many reports a second the service takes: a bucket that fills up again. No address is looked at, here or anywhere.

use std::sync::Mutex;
use std::time::Instant;

/// A bucket of reports.
pub struct Rate {
    a_second: f64,
    bucket: Mutex<(f64, Instant)>,
}

impl Rate {
    /// So many reports a second; as many may come at once.
    pub fn new(a_second: f64) -> Self {
        Rate { a_second, bucket: Mutex::new((a_second, Instant::now())) }
    }

    /// Takes reports out of the bucket, or says after how many seconds it will have them. A batch that is larger than the bucket takes all of it.
    pub fn take(&self, reports: usize) -> Result<(), u64> {
        let wanted = (reports as f64).min(self.a_second);
        // Unwrap safety: nothing panics while it holds the lock.
        let mut bucket = self.bucket.lock().unwrap();
        let now = Instant::now();
        let filled = bucket.0 + self.a_second * now.duration_since(bucket.1).as_secs_f64();
        *bucket = (filled.min(self.a_second), now);
        if bucket.0 < wanted {
            return Err(((wanted - bucket.0) / self.a_second).ceil().max(1.0) as u64);
        }
        bucket.0 -= wanted;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_empty_until_it_fills_again() {
        let rate = Rate::new(100.0);
        assert_eq!((rate.take(60), rate.take(30)), (Ok(()), Ok(())));
        assert_eq!(rate.take(50), Err(1));
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert_eq!(rate.take(50), Ok(()));
        // A batch larger than the bucket is not refused for ever.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(rate.take(1000), Ok(()));
    }
}
