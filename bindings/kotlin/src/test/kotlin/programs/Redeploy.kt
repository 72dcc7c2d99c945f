/**
 * Leads in class loaders of their own, one after another, as in a server that deploys an application again and again, and
 * prints what is left of them: programs.RedeployKt APPLICATION COUNT ENTRY… with the entries of their class path.
 */
package programs

import incumbent.Candidate
import incumbent.ClosedException
import incumbent.Preset
import incumbent.Term
import incumbent.close
import incumbent.connect
import incumbent.connectAsync
import incumbent.closeAsync
import incumbent.drainingAsync
import incumbent.handOverAsync
import incumbent.nextTermAsync
import incumbent.resignAsync
import incumbent.shutDown
import incumbent.spring.LeaderLifecycle
import java.io.File
import java.lang.ref.WeakReference
import java.net.URL
import java.net.URLClassLoader
import java.util.concurrent.CompletableFuture
import java.util.concurrent.LinkedBlockingQueue
import java.util.function.Supplier
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield
import org.springframework.beans.factory.config.BeanDefinitionCustomizer
import org.springframework.context.support.GenericApplicationContext

/** The application. It keeps what it opened, and calls it until that is refused. */
class Deployed : Runnable {
    override fun run(): Unit = runBlocking {
        val store = connect("memory:")
        val candidate = store.campaign("jobs") {
            preset = Preset.FAST
            splay = 0.seconds
        }
        val second = store.campaign("jobs") {
            name = "second"
            preset = Preset.FAST
            splay = 0.seconds
        }
        kept = listOf(store, candidate, second)
        val first = candidate.nextTerm()!!
        first.close()
        // The first candidate still leads when this wait begins, so the wait needs a wake to end.
        val follows = async { second.nextTerm()!! }
        yield()
        candidate.close()
        val hold = follows.await()
        kept = kept + hold
        hold.close()
        // Starts a thread for delays, and one for tasks.
        withContext(Dispatchers.IO) { delay(1) }
        val callers = List(2) { thread { untilRefused(second, first.term) } }
        shutDown()
        callers.forEach { it.join() }
        val calls = listOf<suspend () -> Any?>(
            { connect("memory:") },
            { store.campaign("jobs") },
            { store.leader("jobs") },
            { candidate.resign() },
            { hold.term.hold() },
        )
        val refused = calls.count { call -> isRefused { call() } }
        store.close()
        candidate.close()
        hold.close()
        println("undeployed ${second.state} ${second.isLeader} ${hold.term.isCurrent} $refused")
    }

    /** Calls the compiled part, with objects that come and go, until that is refused. */
    private fun untilRefused(candidate: Candidate, ended: Term) {
        try {
            while (true) {
                candidate.leader
                ended.hold().close()
            }
        } catch (refused: ClosedException) {
            check("shutDown" in refused.message!!)
        }
    }

    private companion object {
        var kept: List<Any> = emptyList()
    }
}

/** An application of Spring, whose last bean to be destroyed shuts the library down. */
class DeployedInSpring : Runnable {
    override fun run() {
        val terms = LinkedBlockingQueue<Term>()
        val bean = LeaderLifecycle("memory:", "jobs", { term ->
            terms.add(term)
            term.drainingAsync().join()
        })
        val last = Supplier<Runnable> { Runnable { shutDown() } }
        val context = GenericApplicationContext().apply {
            registerBean("shutDown", Runnable::class.java, last, BeanDefinitionCustomizer { it.destroyMethodName = "run" })
            registerBean("leader", LeaderLifecycle::class.java, Supplier { bean })
        }
        context.refresh()
        val term = terms.take()
        val candidate = bean.candidate!!
        context.close()
        val calls = listOf<() -> CompletableFuture<*>>(
            { connectAsync("memory:") },
            { candidate.resignAsync() },
            { candidate.handOverAsync("other") },
            { candidate.nextTermAsync() },
            { term.drainingAsync() },
        )
        val refused = calls.count { call -> isRefused { call().join() } }
        candidate.closeAsync().join()
        println("undeployed ${candidate.state} ${candidate.isLeader} ${term.isCurrent} $refused")
    }
}

private inline fun isRefused(call: () -> Unit): Boolean =
    runCatching(call).exceptionOrNull().let { it is ClosedException || it?.cause is ClosedException }

private fun deploy(application: String, places: Array<URL>): WeakReference<ClassLoader> =
    URLClassLoader(places, ClassLoader.getPlatformClassLoader()).use { loader ->
        val application = loader.loadClass(application).getDeclaredConstructor().newInstance() as Runnable
        thread(contextClassLoader = loader) { application.run() }.join()
        WeakReference(loader)
    }

/** Collects what nothing refers to, until that is so or a minute is over. */
private fun collectedUntil(isSo: () -> Boolean) {
    val limit = System.nanoTime() + 60.seconds.inWholeNanoseconds
    while (!isSo() && System.nanoTime() < limit) {
        System.gc()
        Thread.sleep(20)
    }
}

fun main(arguments: Array<String>) {
    val places = arguments.drop(2).map { File(it).toURI().toURL() }.toTypedArray()
    val loaders = mutableListOf<WeakReference<ClassLoader>>()
    val tasks = { File("/proc/self/task").list()!!.size }
    val resident = { File("/proc/self/statm").readText().split(' ')[1].toLong() * 4096 / 1_000_000 }
    val before = tasks()
    repeat(arguments[1].toInt()) {
        loaders.add(deploy(arguments[0], places))
        collectedUntil { loaders.all { it.get() == null } && tasks() <= before }
        println("resident ${resident()}")
    }
    println("left ${loaders.count { it.get() != null }}")
    println("threads ${(tasks() - before).coerceAtLeast(0)}")
}
