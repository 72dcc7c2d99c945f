/** A store that is open for elections. */
package incumbent

import incumbent.raw.ExecutorProbe
import incumbent.raw.initStore
import incumbent.raw.openStore
import incumbent.raw.stores
import kotlin.coroutines.ContinuationInterceptor
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.isActive
import kotlinx.coroutines.withContext
import incumbent.raw.Store as RawStore

/**
 * A store that is open for elections, made by [connect]. It has one connection and one watch for all its elections. It
 * works from any thread.
 *
 * In Java it is for `try (…)`. In Kotlin the suspending [close] and [use] are.
 */
public class Store internal constructor(internal val raw: RawStore) : Closing {
    /**
     * Campaigns in the election of that key. If the store does not answer yet, the candidate is created anyway, and
     * campaigns as soon as the store answers.
     *
     * The caller's dispatcher is watched: if something blocks it for a lease while the candidate leads, the candidate
     * is unhealthy. It drains, leaves, and campaigns again when the dispatcher runs; see [CampaignSettings.dispatcher].
     *
     * @throws InvalidSettingException for an unsuitable setting.
     * @throws InvalidNameException for a key or a name that the store cannot hold.
     * @throws PermissionDeniedException if the store refuses.
     * @throws ClosedException once the store is closed.
     * @throws StoreUnavailableException with [StoreSettings.failFast], if the store does not answer.
     */
    public suspend fun campaign(election: String, settings: CampaignSettings = CampaignSettings()): Candidate {
        val present = currentCoroutineContext()[ContinuationInterceptor] as? CoroutineDispatcher
        // Unconfined code runs on the thread of whatever it waits for, so there is nothing to watch.
        val dispatcher = (settings.dispatcher ?: present).takeIf { it != Dispatchers.Unconfined }
        return campaign(election, settings, dispatcher)
    }

    /** Campaigns in the election of that key, with settings written in place. */
    public suspend inline fun campaign(election: String, settings: CampaignSettings.() -> Unit): Candidate =
        campaign(election, CampaignSettings().apply(settings))

    internal suspend fun campaign(
        election: String,
        settings: CampaignSettings,
        dispatcher: CoroutineDispatcher?,
    ): Candidate {
        val health = settings.health
        val interval = health?.let { positive("healthInterval", settings.healthInterval) }
        val probe = dispatcher?.takeIf { settings.watch }?.let { ExecutorProbe() }
        try {
            val raw = translating { raw.campaign(election, settings.plain(), interval, probe).await() }
            if (!currentCoroutineContext().isActive) {
                // The caller is cancelled, and never gets the candidate.
                raw.close(true).close()
                currentCoroutineContext().ensureActive()
            }
            return Candidate.campaigning(raw, probe, health, dispatcher ?: Dispatchers.Default)
        } catch (error: Throwable) {
            probe?.destroy()
            throw error
        }
    }

    /**
     * Watches the election of that key without taking part, beginning with the current leader. It ends when the store is
     * closed.
     */
    public fun observe(election: String): Flow<Observation> = flow {
        val observations = raw.observe(election).await()
        try {
            while (true) {
                emit((translating { observations.next() } ?: break).toObservation())
            }
        } finally {
            unlessOver { observations.stop() }
            observations.destroy()
        }
    }

    /** Returns the election's current leader, read from the leader of the store; null if there is none. */
    public suspend fun leader(election: String): Leader? = raw.leader(election).await()?.toLeader()

    /** Returns all elections of the store, by key. */
    public suspend fun list(): List<ElectionInfo> = raw.list().await().map { it.toInfo() }

    /**
     * Returns the candidates of that election on all connections to the store: the leader and the waiting candidates,
     * oldest first; null if the store cannot find out, or does not permit the query.
     *
     * Waiting candidates write nothing to the store, so this asks the other connections: on NATS that takes a quarter of a
     * second. Candidates of other software are not found.
     */
    public suspend fun candidates(election: String): List<CandidateInfo>? =
        raw.candidates(election).await()?.map { it.toInfo() }

    /** Sends what [close] does, for a caller that does not wait for it. */
    internal fun closeAtOnce() = unlessOver { raw.close(true).close() }

    /** For Java: waits until it is closed. In Kotlin a call is one of the extension of this name, which suspends. */
    @Suppress("INVISIBLE_MEMBER", "INVISIBLE_REFERENCE")
    @kotlin.internal.LowPriorityInOverloadResolution
    override fun close(): Unit = closeAsync().waited()

    /** Runs `block`, and closes the store after it in any case. */
    public suspend inline fun <T> use(block: (Store) -> T): T =
        try {
            block(this)
        } finally {
            withContext(NonCancellable) { close() }
        }

    public companion object {
        /** The schemes of the URLs that this build opens. */
        @JvmField
        public val STORES: List<String> = stores()
    }
}

/** Closes every candidate cleanly, and then the store. Closing twice is no error. */
public suspend fun Store.close(): Unit = unlessOver { raw.close(Inside.holds(null)).await() }

/**
 * Opens the store at `url`:
 *
 * - `nats://host:4222/BUCKET`: a NATS JetStream key-value bucket; also `tls://`, `ws://`, several hosts
 * - `etcd://host:2379/PREFIX`: an etcd cluster
 * - `kafka://host:9092/PREFIX`: consumer groups of a Kafka cluster, if [Store.STORES] lists Kafka
 * - `sqlite:elections.db`: a file, for the processes of one machine
 * - `memory:` and `memory:NAME`: for one process, and for tests
 *
 * A parameter of the URL can also be a setting.
 *
 * @throws InvalidUrlException for a URL that cannot be parsed.
 * @throws InvalidSettingException for a setting that does not fit.
 * @throws AuthenticationException where credentials cannot be read.
 * @throws NotFoundException where the bucket or file does not exist.
 * @throws UnsafeStoreException where an election there would be unsafe.
 * @throws PermissionDeniedException where the store refuses.
 * @throws StoreUnavailableException with [StoreSettings.failFast], where the store does not answer.
 * @throws ClosedException after [shutDown].
 */
public suspend fun connect(url: String, settings: StoreSettings = StoreSettings()): Store {
    Exit.watch()
    Wakes.prepare()
    logWarnings()
    return Store(translating { openStore(url, settings.plain()).await() })
}

/** Opens the store at `url`, with settings written in place. */
public suspend inline fun connect(url: String, settings: StoreSettings.() -> Unit): Store =
    connect(url, StoreSettings().apply(settings))

/**
 * Prepares the store at `url` for elections, as `incumbent init` does on the command line: creates the bucket, file,
 * prefix or topic, or checks an existing one. A second call changes nothing.
 *
 * In a new store no candidate leads before the store is one lease old, unless [InitSettings.new] states that no election was
 * ever held there. A store that does not answer is an error. Cancelling the coroutine ends the attempt.
 *
 * @throws InvalidUrlException for a URL that cannot be parsed.
 * @throws InvalidSettingException for an unsuitable setting.
 * @throws UnsafeStoreException if an existing bucket differs from the settings, without [InitSettings.update].
 * @throws UnsupportedException if the server cannot do what is asked.
 * @throws NotFoundException if the folder of a file does not exist.
 * @throws AuthenticationException if credentials cannot be read.
 * @throws PermissionDeniedException if the store refuses.
 * @throws StoreUnavailableException if the store does not answer.
 */
public suspend fun init(url: String, settings: InitSettings = InitSettings()): InitReport {
    Exit.check()
    Wakes.prepare()
    logWarnings()
    return translating { initStore(url, settings.plain()).await() }.toReport()
}

/** Prepares the store at `url`, with settings written in place. */
public suspend inline fun init(url: String, settings: InitSettings.() -> Unit): InitReport =
    init(url, InitSettings().apply(settings))
