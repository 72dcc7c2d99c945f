/** Values that a program reads at every turn of a loop. */
package incumbent

import com.sun.management.ThreadMXBean
import incumbent.testing.ManualClock
import incumbent.testing.ScriptedElection
import java.lang.management.ManagementFactory
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicReference
import kotlin.concurrent.thread
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class ReadingsTest {
    private val threads = ManagementFactory.getThreadMXBean() as ThreadMXBean

    /** The bytes that this thread has allocated. */
    private fun soFar() = threads.getThreadAllocatedBytes(Thread.currentThread().id)

    /** The bytes that this thread allocates in ten thousand turns. */
    private inline fun allocated(turn: () -> Boolean): Long {
        // The first turns load classes.
        repeat(100) { assertTrue(turn()) }
        val empty = soFar().let { soFar() - it }
        val before = soFar()
        var all = true
        repeat(10_000) { all = all and turn() }
        val bytes = soFar() - before - empty
        assertTrue(all)
        return bytes
    }

    @Test
    fun `no reading allocates`() {
        val election = ScriptedElection()
        election.acquire(60.seconds)
        val candidate = election.candidate
        val term = candidate.term!!
        val bytes = mapOf(
            "isLeader" to allocated { candidate.isLeader },
            "isCurrent" to allocated { term.isCurrent },
            // The library of Kotlin 1.9 makes two ranges as it turns these into a Duration; a newer one does not.
            "remaining" to allocated { term.remainingNanoseconds > 0 },
            "age" to allocated { term.ageNanoseconds < 60_000_000_000 },
            "isDraining" to allocated { !term.isDraining },
        )
        assertEquals(bytes.mapValues { 0L }, bytes)
        // The count includes every allocation.
        assertTrue(allocated { candidate.state == State.LEADING } > 10_000)
    }

    @Test
    fun `readings go on after a term is over and its candidate closed`() = looping {
        val clock = ManualClock()
        val election = ScriptedElection(clock = clock)
        election.acquire(5.seconds)
        val candidate = election.candidate
        val term = candidate.term!!
        val hold = term.hold()
        clock.advance(1.seconds)
        election.drain()
        term.draining()
        assertTrue(candidate.isLeader && term.isCurrent && term.isDraining && term.drainRemaining!! > Duration.ZERO)
        hold.close()
        term.ended()
        candidate.close()
        assertFalse(candidate.isLeader || term.isCurrent || term.isDraining)
        assertEquals(listOf(Duration.ZERO, 1.seconds), listOf(term.remaining, term.age))
        // The addresses of the candidate and its term stay valid, because nothing destroys them.
        assertFalse(candidate.raw.uniffiIsDestroyed || term.raw.uniffiIsDestroyed)
    }

    @Test
    fun `a candidate can be read while it closes and is forgotten`() {
        val present = AtomicReference(ScriptedElection().candidate)
        val isOver = AtomicBoolean()
        val wrong = AtomicReference<String?>()
        val readers = List(2) {
            thread {
                while (!isOver.get()) {
                    val candidate = present.get()
                    val term = candidate.term
                    if (term != null && term.remaining > LONG_LEASE) wrong.set("${term.remaining}")
                    if (candidate.isLeader && term?.isDraining == true) wrong.set("it drains")
                }
            }
        }
        repeat(200) { at ->
            val election = ScriptedElection()
            present.set(election.candidate)
            election.acquire(LONG_LEASE)
            election.revoke()
            if (at % 50 == 0) System.gc()
        }
        isOver.set(true)
        readers.forEach { it.join() }
        assertNull(wrong.get())
    }
}
