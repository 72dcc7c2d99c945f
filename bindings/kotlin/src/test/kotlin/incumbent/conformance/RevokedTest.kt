/** A group that takes the leader's partition away: only Kafka does that, so the common scenarios do not have it. */
package incumbent.conformance

import incumbent.BROKER
import incumbent.CampaignSettings
import incumbent.Event
import incumbent.Preset
import incumbent.Reason
import incumbent.connect
import incumbent.looping
import java.util.UUID
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable

class RevokedTest {
    @Test
    @EnabledIfEnvironmentVariable(named = "INCUMBENT_KAFKA", matches = ".+")
    fun `a revocation lets the work drain`() = looping {
        // goNELI's assignors revoke every partition when a member joins.
        val url = "kafka://$BROKER/${UUID.randomUUID()}?goneli=true"
        val settings = CampaignSettings().apply {
            preset = Preset.FAST
            lease = 5.seconds
            drain = 60.seconds
        }
        connect(url).use { store ->
            connect(url).use { other ->
                val leader = store.campaign("jobs", settings)
                leader.nextTerm()!!.use { hold ->
                    val term = hold.term
                    val listens = CompletableDeferred<Unit>()
                    val draining = async {
                        leader.events().first { event ->
                            listens.complete(Unit)
                            event is Event.Draining
                        }
                    }
                    listens.await()
                    val newcomer = other.campaign("jobs", settings)
                    assertEquals(Event.Draining(term, Reason.REVOKED), draining.await())
                    assertEquals(listOf(true, true, false), listOf(term.isCurrent, leader.isLeader, newcomer.isLeader))
                    hold.close()
                    assertEquals(Reason.REVOKED, term.ended())
                }
            }
        }
    }
}
