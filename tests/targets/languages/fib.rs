// SPDX-License-Identifier: MIT
// fib(10) is 177 calls; a panic is caught above it.
use std::hint::black_box;

#[inline(never)]
fn fib(n: u32) -> u32 {
    if n < 2 {
        n
    } else {
        black_box(fib(n - 1)) + black_box(fib(n - 2))
    }
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let result = std::panic::catch_unwind(|| {
        if fib(10) == 55 {
            panic!("as expected")
        }
    });
    std::process::exit(result.is_ok() as i32);
}
