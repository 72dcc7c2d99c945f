package incumbent

import incumbent.raw.shutDown
import java.time.Duration
import java.util.concurrent.atomic.AtomicBoolean

/**
 * Leaves in time when the virtual machine exits: at its normal end, on `exit`, and on SIGTERM or SIGINT. Each runs the
 * shutdown hooks. The program's threads still run then, so leaders drain.
 */
internal object Exit {
    /** The time for the drains: the drain time of a candidate by default. */
    private val DRAIN = Duration.ofSeconds(10)

    /** The time after the drains for the release of keys. */
    private val RELEASE = Duration.ofSeconds(3)

    private val isWatched = AtomicBoolean()

    fun watch() {
        if (isWatched.compareAndSet(false, true)) {
            Runtime.getRuntime().addShutdownHook(Thread({ leave() }, "incumbent-exit"))
        }
    }

    private fun leave() {
        val until = System.nanoTime() + DRAIN.toNanos()
        val closing = Candidate.campaigning.map { it.raw.close(false) }
        for (one in closing) {
            one.wait(Duration.ofNanos((until - System.nanoTime()).coerceAtLeast(0)))
        }
        shutDown(RELEASE)
    }
}
