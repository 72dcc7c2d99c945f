//! Rules that a test can break on purpose.

/// Whether a rule is broken on purpose: `false`, except in a build that tests the tests
/// (`cargo xtask test mutants`). With `=>`, what is done then.
#[cfg(not(incumbent_mutants))]
macro_rules! broken {
    ($mutant:ident) => {
        $crate::broken::never()
    };
    ($mutant:ident => $wrong:expr) => {};
}

#[cfg(incumbent_mutants)]
macro_rules! broken {
    ($mutant:ident) => {
        $crate::mutant::is($crate::mutant::Mutant::$mutant)
    };
    ($mutant:ident => $wrong:expr) => {
        if $crate::mutant::is($crate::mutant::Mutant::$mutant) {
            $wrong;
        }
    };
}

/// What every rule is in a normal build: not broken.
#[cfg(not(incumbent_mutants))]
#[inline(always)]
pub(crate) const fn never() -> bool {
    false
}
