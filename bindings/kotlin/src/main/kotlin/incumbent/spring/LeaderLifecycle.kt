/**
 * For Spring: work of the leader with the lifecycle of an application context. It needs `spring-context`, which an application
 * of Spring has; nothing else of this library does.
 */
package incumbent.spring

import incumbent.CampaignSettings
import incumbent.Candidate
import incumbent.Store
import incumbent.StoreSettings
import incumbent.Term
import incumbent.campaignAsync
import incumbent.closeAsync
import incumbent.connectAsync
import incumbent.leadAsync
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionException
import java.util.concurrent.ExecutorService
import java.util.concurrent.Executors
import java.util.function.Consumer
import org.springframework.context.SmartLifecycle

/**
 * A bean that campaigns from the start of its context until the context is stopped or closed, and runs `work` in every term,
 * on a thread of its own:
 *
 * ```java
 * @Bean
 * LeaderLifecycle billing(Billing billing) {
 *     return new LeaderLifecycle("nats://localhost:4222/ELECTIONS", "billing-cron", billing::work);
 * }
 * ```
 *
 * It is started after all other beans, and waits for the store. It is stopped before them: the work drains, with everything
 * that it uses still there, and leadership is given back. Spring waits for that, up to its time limit for a phase, which
 * should be longer than the drain. The work ends soon after [Term.isDraining] is true, or waits for [Term.draining]. Its
 * thread is interrupted when the term ends.
 *
 * An application that its server unloads with a copy of this library calls [incumbent.shutDown] after that, in the destruction
 * of a bean: `@Bean(destroyMethod = "run") Runnable endOfElections() { return Async::shutDown; }`.
 */
public class LeaderLifecycle @JvmOverloads constructor(
    /** The URL of the store, which is open while the context runs. */
    private val url: String,
    /** The key of the election. */
    public val election: String,
    private val work: Consumer<Term>,
    private val settings: CampaignSettings = CampaignSettings(),
    private val storeSettings: StoreSettings = StoreSettings(),
) : SmartLifecycle {
    private class Running(val store: Store, val candidate: Candidate, val executor: ExecutorService)

    @Volatile
    private var running: Running? = null

    /** The candidate, for a health check; null while the context does not run. */
    public val candidate: Candidate? get() = running?.candidate

    @Synchronized
    override fun start() {
        if (running != null) {
            return
        }
        val store = answered(connectAsync(url, storeSettings))
        try {
            val candidate = answered(store.campaignAsync(election, settings))
            val executor = Executors.newSingleThreadExecutor { Thread(it, "leading $election") }
            running = Running(store, candidate, executor)
            candidate.leadAsync(executor, work)
        } catch (error: Throwable) {
            store.closeAsync()
            throw error
        }
    }

    override fun stop() {
        val stopped = CompletableFuture<Void?>()
        stop { stopped.complete(null) }
        stopped.join()
    }

    override fun stop(callback: Runnable) {
        val ending = synchronized(this) { running.also { running = null } }
        if (ending == null) {
            callback.run()
            return
        }
        ending.store.closeAsync().whenComplete { _, _ ->
            ending.executor.shutdown()
            callback.run()
        }
    }

    override fun isRunning(): Boolean = running != null

    private fun <T> answered(future: CompletableFuture<T>): T =
        try {
            future.join()
        } catch (failed: CompletionException) {
            throw failed.cause ?: failed
        }
}
