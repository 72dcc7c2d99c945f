package readme

import incumbent.Reason
import incumbent.Token
import incumbent.close
import incumbent.testing.ScriptedElection
import kotlinx.coroutines.*

fun inTests() = runBlocking {
    val election = ScriptedElection()
    val begun = CompletableDeferred<Token>()
    val job = launch {
        election.candidate.lead { term ->
            begun.complete(term.token)
            term.draining()
        }
    }
    check(begun.isActive)
    val token = election.acquire() // or, with a lease that runs out, acquire(5.seconds)
    check(begun.await() == token)
    election.drain(Reason.RESIGNED)
    election.candidate.close()
    job.join()
}
