/** Terms, and the work that is bound to them, in a scripted election. */
package incumbent

import incumbent.testing.Asked
import incumbent.testing.ManualClock
import incumbent.testing.ScriptedElection
import kotlin.time.Duration
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineExceptionHandler
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.takeWhile
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows

class TermTest {
    private val election = ScriptedElection()
    private val candidate = election.candidate

    @Test
    fun `a term has its token, its election and no reason while it lasts`() {
        val token = election.acquire()
        val term = candidate.term!!
        assertEquals(listOf(token, "jobs", true, null), listOf(term.token, term.election, term.isCurrent, term.reason))
        assertEquals(token, Token.parse(token.toString()))
        assertEquals(33, token.toString().length)
        election.revoke(Reason.USURPED)
        assertEquals(listOf(false, Reason.USURPED), listOf(term.isCurrent, term.reason))
        assertEquals(Reason.USURPED, assertThrows<TermEndedException> { term.check() }.reason)
        assertNull(candidate.term)
    }

    @Test
    fun `later tokens are larger, and so is their text`() {
        val first = election.acquire()
        election.revoke(Reason.EXPIRED)
        val second = election.acquire()
        assertTrue(first < second && first.toString() < second.toString())
        assertNull(Token.parse("7"))
    }

    @Test
    fun `a lease ends by the clock`() {
        val clock = ManualClock()
        val election = ScriptedElection(clock = clock)
        election.acquire(5.seconds)
        val term = election.candidate.term!!
        clock.advance(4.seconds)
        assertEquals(listOf(true, 1.seconds), listOf(term.isCurrent, term.remaining))
        clock.advance(1.seconds)
        assertEquals(listOf(false, Duration.ZERO, Reason.EXPIRED), listOf(term.isCurrent, term.remaining, term.reason))
        assertFalse(election.candidate.isLeader)
    }

    @Test
    fun `work that ends before its term returns its value and the term goes on`() = looping {
        election.acquire()
        assertEquals(7, candidate.term!!.run { 7 })
        assertTrue(candidate.isLeader)
    }

    @Test
    fun `work and all that it started is cancelled when the term ends, and the caller gets the reason`() = looping {
        election.acquire()
        val started = CompletableDeferred<Unit>()
        val child = CompletableDeferred<Unit>()
        val running = async {
            assertThrows<TermEndedException> {
                candidate.term!!.run {
                    launch {
                        try {
                            started.complete(Unit)
                            awaitCancellation()
                        } finally {
                            child.complete(Unit)
                        }
                    }
                    awaitCancellation()
                }
            }
        }
        started.await()
        election.revoke(Reason.EXPIRED)
        assertEquals(Reason.EXPIRED, running.await().reason)
        assertTrue(child.isCompleted)
    }

    @Test
    fun `an error of the work reaches the caller as it is`() = looping {
        election.acquire()
        val error = assertThrows<IllegalStateException> { candidate.term!!.run { error("on purpose") } }
        assertEquals("on purpose", error.message)
        assertTrue(candidate.isLeader)
    }

    @Test
    fun `the work of a term that is over does not begin`() = looping {
        election.acquire()
        val term = candidate.term!!
        election.revoke(Reason.DELETED)
        assertEquals(Reason.DELETED, assertThrows<TermEndedException> { term.run { error("it began") } }.reason)
    }

    @Test
    fun `a drain waits for the block of terms`() = looping {
        election.acquire()
        val begun = CompletableDeferred<Term>()
        val done = CompletableDeferred<Unit>()
        val terms = launch {
            candidate.terms().collect { term ->
                begun.complete(term)
                term.draining()
                assertTrue(term.isDraining && term.isCurrent)
                done.await()
                assertTrue(term.isCurrent)
            }
        }
        val term = begun.await()
        election.drain(Reason.RESIGNED)
        term.draining()
        assertTrue(candidate.isLeader)
        done.complete(Unit)
        assertEquals(Reason.RESIGNED, term.ended())
        terms.cancelAndJoin()
    }

    @Test
    fun `terms come one after another and end with the campaign`() = looping {
        val seen = mutableListOf<Token>()
        val collecting = launch { candidate.terms().collect { seen.add(it.token) } }
        val tokens = List(3) { at ->
            val token = election.acquire()
            until("the term has come") { seen.size == at + 1 }
            election.revoke(Reason.USURPED)
            token
        }
        candidate.close()
        collecting.join()
        assertEquals(tokens, seen)
    }

    @Test
    fun `lead cancels its work at the end of a term, and begins with the next`() = looping {
        val begun = mutableListOf<Token>()
        val ended = mutableListOf<Token>()
        val leading = launch {
            candidate.lead { term ->
                try {
                    begun.add(term.token)
                    awaitCancellation()
                } finally {
                    ended.add(term.token)
                }
            }
        }
        val tokens = List(3) { at ->
            val token = election.acquire()
            until("the work has begun") { begun.size == at + 1 }
            election.revoke(Reason.USURPED)
            until("the work has ended") { ended.size == at + 1 }
            token
        }
        candidate.close()
        leading.join()
        assertEquals(listOf(tokens, tokens), listOf(begun, ended))
    }

    @Test
    fun `work of lead that throws ends its term, and the handler gets the error`() = looping {
        val errors = mutableListOf<Throwable>()
        val failed = IllegalStateException("on purpose")
        val leading = launch(CoroutineExceptionHandler { _, error -> errors.add(error) }) {
            candidate.lead { throw failed }
        }
        election.acquire()
        until("the failure is reported") { Asked.Fail in election.asked && errors.isNotEmpty() }
        assertEquals(failed.message, errors.single().message)
        candidate.close()
        leading.join()
    }

    @Test
    fun `an Error of the work ends its term, and the handler gets it`() = looping {
        val errors = mutableListOf<Throwable>()
        val leading = launch(CoroutineExceptionHandler { _, error -> errors.add(error) }) {
            candidate.lead { TODO("on purpose") }
        }
        election.acquire()
        until("the failure is reported") { Asked.Fail in election.asked && errors.isNotEmpty() }
        assertTrue(leading.isActive)
        assertTrue(errors.single() is NotImplementedError, "${errors.single()}")
        candidate.close()
        leading.join()
    }

    @Test
    fun `cancelling lead cancels its work and closes`() = looping {
        val begun = CompletableDeferred<Unit>()
        val leading = launch {
            candidate.lead {
                begun.complete(Unit)
                awaitCancellation()
            }
        }
        election.acquire()
        begun.await()
        leading.cancelAndJoin()
        until("it is closed") { election.asked == listOf(Asked.Close) }
    }

    @Test
    fun `cancelling lead while it waits for a term closes`() = looping {
        val leading = launch(start = CoroutineStart.UNDISPATCHED) { candidate.lead {} }
        leading.cancelAndJoin()
        until("it is closed") { election.asked == listOf(Asked.Close) }
    }

    @Test
    fun `work that resigns does not wait for itself`() = looping {
        connect("memory:").use { store ->
            store.campaign("jobs", quick().apply { drain = LONG_LEASE }).use { candidate ->
                var term: Term? = null
                candidate.terms().take(1).collect {
                    term = it
                    candidate.resign()
                    assertTrue(it.isDraining)
                }
                assertEquals(Reason.RESIGNED, term!!.ended())
            }
        }
    }

    @Test
    fun `work that resigns under NonCancellable does not wait for itself`() = looping {
        connect("memory:").use { store ->
            store.campaign("jobs", quick().apply { drain = 1.hours }).use { candidate ->
                val term = candidate.nextTerm()!!.use { hold ->
                    hold.term.run { term ->
                        launch { withContext(NonCancellable) { candidate.resign() } }.join()
                        assertTrue(term.isDraining && term.isCurrent)
                    }
                    hold.term
                }
                assertEquals(Reason.RESIGNED, term.ended())
            }
        }
    }

    @Test
    fun `a hold that is closed twice is no error`() = looping {
        election.acquire()
        val hold = candidate.nextTerm()!!
        hold.close()
        hold.close()
        election.drain(Reason.RESIGNED)
        assertEquals(Reason.RESIGNED, hold.term.ended())
    }

    @Test
    fun `events come in order, and begin with the present state`() = looping {
        val token = election.acquire()
        val won = candidate.events().first { it is Event.Won } as Event.Won
        assertEquals(token, won.term.token)
        val rest = async(start = CoroutineStart.UNDISPATCHED) {
            candidate.events().takeWhile { it !is Event.Lost }.toList().filterNot { it is Event.StateChanged }
        }
        election.leader("other")
        election.warning()
        election.revoke(Reason.STORE_RESET)
        val names = rest.await().map {
            when (it) {
                is Event.LeaderChanged -> "leader ${it.leader?.name}"
                is Event.Warning -> it.code
                is Event.Won -> "won"
                else -> "another event"
            }
        }
        assertEquals(listOf("won", "leader other", "MARKERS_MISLEAD"), names.filterNot { it == "leader null" })
    }

    @Test
    fun `the requests of the code under test are listed`() = looping {
        candidate.setHealthy(false)
        candidate.acceptReset()
        candidate.close()
        assertEquals(listOf(Asked.SetHealthy(false), Asked.AcceptReset, Asked.Close), election.asked)
        assertEquals(State.CLOSED, candidate.state)
        candidate.closed()
        assertNull(candidate.nextTerm())
    }
}
