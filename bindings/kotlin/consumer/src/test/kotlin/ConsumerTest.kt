import incumbent.Reason
import incumbent.Term
import incumbent.close
import incumbent.connect
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class ConsumerTest {
    @Test
    fun `an application in this Kotlin leads and leaves`() = runBlocking {
        withTimeout(60.seconds) {
            connect("memory:").use { store ->
                var led: Term? = null
                store.campaign("jobs") { splay = 0.seconds }.use { candidate ->
                    candidate.terms().first { term ->
                        led = term
                        term.run { term.token.toString().length } == 33
                    }
                    assertTrue(candidate.isLeader)
                }
                assertEquals(Reason.CLOSED, led!!.reason)
                store.close()
            }
        }
    }
}
