/** Helpers that the tests share. */
package incumbent

import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout

/** The time limit of every expectation; no test depends on it. */
val LIMIT = 120.seconds

/** Outlasts every stall of the machine. */
val LONG_LEASE = 60.seconds

/** Runs a test on its own event loop. */
fun looping(test: suspend CoroutineScope.() -> Unit) = runBlocking { withTimeout(LIMIT) { test() } }

/** Waits until a condition is true: for states that no event reports. */
suspend fun until(what: String, isSo: suspend () -> Boolean) {
    val limit = System.nanoTime() + LIMIT.inWholeNanoseconds
    while (!isSo()) {
        check(System.nanoTime() < limit) { "waited for: $what" }
        delay(2.milliseconds)
    }
}

/** The settings of a candidate that campaigns at once, and whose lease outlasts every stall. */
fun quick(name: String = "a") = CampaignSettings().apply {
    this.name = name
    preset = Preset.FAST
    lease = LONG_LEASE
    splay = 0.seconds
}
