/** Cancels every wait, and checks what is left of it. */
package incumbent

import incumbent.testing.ScriptedElection
import incumbent.testing.faultyStore
import java.net.ServerSocket
import kotlin.time.Duration.Companion.hours
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.yield
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class CancellingTest {
    /** Begins a call that does not return, and cancels it. */
    private suspend fun cancelled(name: String, call: suspend () -> Unit) = coroutineScope {
        var returned = false
        val job = launch(start = CoroutineStart.UNDISPATCHED) {
            call()
            returned = true
        }
        yield()
        assertTrue(job.isActive, "$name returned at once")
        job.cancelAndJoin()
        assertFalse(returned, "$name returned although it was cancelled")
    }

    @Test
    fun `waits for a candidate's terms and events are cancelled, and nothing holds the next term`() = looping {
        val election = ScriptedElection()
        val candidate = election.candidate
        cancelled("nextTerm") { candidate.nextTerm() }
        cancelled("closed") { candidate.closed() }
        cancelled("terms") { candidate.terms().collect {} }
        cancelled("lead") { ScriptedElection().candidate.lead {} }
        cancelled("events") { candidate.events().collect {} }
        election.acquire()
        val term = candidate.term!!
        cancelled("nextTerm after it") { candidate.nextTerm(term) }
        cancelled("ended") { term.ended() }
        cancelled("draining") { term.draining() }
        cancelled("run") { term.run { awaitCancellation() } }
        cancelled("a block of terms") { candidate.terms().collect { awaitCancellation() } }
        assertTrue(term.isCurrent)
        election.drain(Reason.RESIGNED)
        assertEquals(Reason.RESIGNED, term.ended())
    }

    @Test
    fun `questions to a store that does not answer are cancelled`() = looping {
        faultyStore().use { faulty ->
            val store = faulty.store
            store.campaign("jobs", quick()).use { candidate ->
                candidate.nextTerm()!!.close()
                faulty.delayAnswers(1.hours)
                cancelled("leader") { store.leader("jobs") }
                cancelled("list") { store.list() }
                cancelled("candidates") { store.candidates("jobs") }
                cancelled("campaign") { store.campaign("others", quick().apply { splay = 1.hours }).closed() }
                cancelled("observe") { store.observe("jobs").collect {} }
                faulty.delayAnswers(kotlin.time.Duration.ZERO)
            }
        }
    }

    @Test
    fun `opening a store that does not answer is cancelled`() = looping {
        ServerSocket(0).use { silent ->
            val settings = StoreSettings().failFast(true).parameter("connect_timeout", "1h")
            val url = "nats://127.0.0.1:${silent.localPort}/ELECTIONS"
            cancelled("connect") { connect(url, settings) }
        }
    }

    @Test
    fun `leaving goes on though the wait for it is cancelled`() = looping {
        val ways = mapOf<String, suspend (Store, Candidate) -> Unit>(
            "resign" to { _, candidate -> candidate.resign() },
            "handOver" to { _, candidate -> candidate.handOver("b") },
            "close" to { _, candidate -> candidate.close() },
            "closing the store" to { store, _ -> store.close() },
        )
        for ((name, leave) in ways) {
            connect("memory:").use { store ->
                val candidate = store.campaign("jobs", quick().apply { drain = 1.hours })
                // Released in any case, because closing waits for it.
                val term = candidate.nextTerm()!!.use { hold ->
                    store.campaign("jobs", quick("b"))
                    cancelled(name) { leave(store, candidate) }
                    hold.term.draining()
                    assertTrue(hold.term.isCurrent, name)
                    hold.term
                }
                val reason = mapOf("resign" to Reason.RESIGNED, "handOver" to Reason.HANDED_OVER)[name] ?: Reason.CLOSED
                assertEquals(reason, term.ended(), name)
            }
        }
    }

    @Test
    fun `a term that comes as its waiter is cancelled is not held`() = looping {
        repeat(300) { round ->
            val election = ScriptedElection()
            val waiter = launch(Dispatchers.Default) { election.candidate.nextTerm()?.close() }
            val winner = launch(Dispatchers.IO) { election.acquire() }
            repeat(round % 7) { yield() }
            waiter.cancelAndJoin()
            winner.join()
            val term = election.candidate.term!!
            election.drain(Reason.RESIGNED)
            assertEquals(Reason.RESIGNED, term.ended())
        }
    }
}
