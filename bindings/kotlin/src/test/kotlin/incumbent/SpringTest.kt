/** A bean of Spring that leads while its context runs. */
package incumbent

import incumbent.spring.LeaderLifecycle
import java.util.concurrent.CompletableFuture
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit
import java.util.function.Supplier
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows
import org.springframework.beans.factory.DisposableBean
import org.springframework.context.ApplicationContextException
import org.springframework.context.support.GenericApplicationContext

class SpringTest {
    /** What the work uses: it records whether it was still there as the work ended. */
    private class Ledger : DisposableBean {
        @Volatile
        var isOpen = true

        override fun destroy() {
            isOpen = false
        }
    }

    private fun context(bean: LeaderLifecycle, ledger: Ledger = Ledger()) = GenericApplicationContext().apply {
        registerBean("billing", LeaderLifecycle::class.java, Supplier { bean })
        registerBean("ledger", Ledger::class.java, Supplier { ledger })
    }

    private fun <T> LinkedBlockingQueue<T>.next(): T = checkNotNull(poll(LIMIT.inWholeSeconds, TimeUnit.SECONDS))

    private fun <T> CompletableFuture<T>.result(): T = get(LIMIT.inWholeSeconds, TimeUnit.SECONDS)

    @Test
    fun `work leads from the start of its context, and drains before anything else is closed`() {
        val ledger = Ledger()
        val begun = LinkedBlockingQueue<Term>()
        val ended = CompletableFuture<List<Any?>>()
        val bean = LeaderLifecycle("memory:", "billing", { term ->
            begun.add(term)
            term.drainingAsync().result()
            ended.complete(listOf(term.isCurrent, ledger.isOpen))
        }, quick())
        val context = context(bean, ledger)
        assertEquals(listOf(false, null), listOf(bean.isRunning, bean.candidate))
        context.refresh()
        val term = begun.next()
        assertTrue(bean.isRunning && bean.candidate!!.isLeader)
        context.close()
        assertEquals(listOf(true, true), ended.result())
        assertEquals(listOf(Reason.CLOSED, false, false), listOf(term.reason, bean.isRunning, ledger.isOpen))
    }

    @Test
    fun `a context that is stopped and started again leads again`() {
        val begun = LinkedBlockingQueue<Term>()
        val bean = LeaderLifecycle("memory:", "billing", { term ->
            begun.add(term)
            term.drainingAsync().result()
        }, quick())
        context(bean).use { context ->
            context.refresh()
            val first = begun.next()
            context.stop()
            assertEquals(Reason.CLOSED, first.reason)
            assertNull(bean.candidate)
            context.start()
            assertTrue(begun.next().isCurrent)
        }
    }

    @Test
    fun `a context whose settings do not fit does not start, and says why`() {
        val bean = LeaderLifecycle("memory:", "billing", {}, CampaignSettings().driftPpm(-1))
        val failed = assertThrows<ApplicationContextException> { context(bean).refresh() }
        val causes = generateSequence(failed as Throwable) { it.cause }
        assertTrue(causes.any { it is InvalidSettingException && "driftPpm is -1" in it.message!! }, "$failed")
    }
}
