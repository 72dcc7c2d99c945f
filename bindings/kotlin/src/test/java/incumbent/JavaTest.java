package incumbent;

import static incumbent.Async.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import incumbent.testing.Asked;
import incumbent.testing.ScriptedElection;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The library as Java sees it. */
class JavaTest {
    private static final long LIMIT = 120;

    private final ExecutorService executor = Executors.newCachedThreadPool();

    @AfterEach
    void stop() {
        executor.shutdownNow();
    }

    private static <T> T of(CompletableFuture<T> future) throws Exception {
        return future.get(LIMIT, TimeUnit.SECONDS);
    }

    /** Waits until a condition is true: for states that no event reports. */
    private static void until(String what, BooleanSupplier isSo) {
        long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT);
        while (!isSo.getAsBoolean()) {
            assertTrue(System.nanoTime() < limit, "waited for: " + what);
            Thread.onSpinWait();
        }
    }

    private static CampaignSettings quick(String name) {
        return new CampaignSettings().name(name).preset(Preset.FAST).lease(Duration.ofSeconds(60)).splay(Duration.ZERO);
    }

    @Test
    void aStoreElectsAndShowsItsLeader() throws Exception {
        Store store = of(connect("memory:", new StoreSettings().failFast(true)));
        Candidate candidate = of(campaign(store, "jobs", quick("a").executor(executor)));
        try (Hold hold = of(nextTerm(candidate)).orElseThrow()) {
            assertTrue(candidate.isLeader() && remaining(hold.getTerm()).toSeconds() > 0);
            assertEquals("a", of(leader(store, "jobs")).orElseThrow().getName());
            assertEquals(List.of("a"), of(candidates(store, "jobs")).orElseThrow().stream().map(CandidateInfo::getName).collect(java.util.stream.Collectors.toList()));
        }
        of(close(store));
        assertEquals(State.CLOSED, candidate.getState());
    }

    @Test
    void aStoreIsPrepared(@TempDir Path folder) throws Exception {
        String url = "sqlite:" + folder.resolve("elections.db");
        assertTrue(of(init(url, new InitSettings().isNew(true))).getCreated());
        assertFalse(of(init(url)).getCreated());
    }

    @Test
    void aFailureIsTheCauseOfTheFuture() {
        var failed = assertThrows(CompletionException.class, () -> connect("carrier-pigeon:").join());
        var error = assertInstanceOf(InvalidUrlException.class, failed.getCause());
        assertEquals(Code.INVALID_URL, error.getCode());
    }

    @Test
    void workIsInterruptedWhenItsTermEnds() throws Exception {
        var election = new ScriptedElection();
        var candidate = election.getCandidate();
        var begun = new CompletableFuture<Token>();
        var interrupted = new CompletableFuture<Boolean>();
        var leading = lead(candidate, executor, term -> {
            begun.complete(term.getToken());
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException gone) {
                interrupted.complete(term.isCurrent());
            }
        });
        assertEquals(election.acquire(), of(begun));
        election.revoke(Reason.EXPIRED);
        assertFalse(of(interrupted));
        of(close(candidate));
        of(leading);
    }

    @Test
    void workThatResignsDoesNotWaitForItself() throws Exception {
        Store store = of(connect("memory:"));
        Candidate candidate = of(campaign(store, "jobs", quick("a").drain(Duration.ofHours(1))));
        var reason = new CompletableFuture<Reason>();
        lead(candidate, executor, term -> {
            ended(term).thenAccept(reason::complete);
            resign(candidate).join();
            assertTrue(term.isDraining());
        });
        assertEquals(Reason.RESIGNED, of(reason));
        of(close(store));
    }

    @Test
    void anErrorOfTheWorkEndsItsTerm() throws Exception {
        var election = new ScriptedElection();
        var candidate = election.getCandidate();
        var leading = lead(candidate, executor, term -> {
            throw new NoClassDefFoundError("on purpose");
        });
        election.acquire();
        until("the failure is reported", () -> election.getAsked().contains(Asked.Fail.INSTANCE));
        assertFalse(leading.isDone());
        of(close(candidate));
        of(leading);
    }

    @Test
    void cancellingLeadInterruptsItsWorkAndClosesTheCandidate() throws Exception {
        Store store = of(connect("memory:"));
        Candidate candidate = of(campaign(store, "jobs", quick("a")));
        var begun = new CompletableFuture<Term>();
        var interrupted = new CompletableFuture<Void>();
        var leading = lead(candidate, executor, term -> {
            begun.complete(term);
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException gone) {
                interrupted.complete(null);
            }
        });
        var term = of(begun);
        leading.cancel(true);
        of(interrupted);
        of(closed(candidate));
        assertEquals(Reason.CLOSED, term.getReason());
        of(close(store));
    }

    @Test
    void anExecutorThatIsShutDownMakesItsCandidateUnhealthy() throws Exception {
        Store store = of(connect("memory:"));
        Candidate candidate = of(campaign(store, "jobs", quick("a")));
        var pool = Executors.newSingleThreadExecutor();
        var begun = new CompletableFuture<Term>();
        lead(candidate, pool, term -> {
            begun.complete(term);
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException gone) {
                // As a worker does that is asked to end.
            }
        });
        var term = of(begun);
        pool.shutdownNow();
        assertEquals(Reason.UNHEALTHY, of(ended(term)));
        until("it stays out", () -> candidate.getState() == State.IDLE);
        of(close(store));
    }

    @Test
    void anExecutorThatWasShutDownBeforeTheWorkBeginsMakesItsCandidateUnhealthy() throws Exception {
        Store store = of(connect("memory:"));
        Candidate candidate = of(campaign(store, "jobs", quick("a")));
        Term first;
        try (Hold hold = of(nextTerm(candidate)).orElseThrow()) {
            first = hold.getTerm();
        }
        var pool = Executors.newSingleThreadExecutor();
        pool.shutdown();
        lead(candidate, pool, term -> {});
        of(ended(first));
        until("it stays out", () -> candidate.getState() == State.IDLE);
        of(close(store));
    }

    @Test
    void aTryBlockClosesItsStoreAndItsCandidate() throws Exception {
        Candidate kept;
        try (Store store = of(connect("memory:"));
                Candidate candidate = of(campaign(store, "jobs", quick("a")))) {
            of(nextTerm(candidate)).orElseThrow().close();
            kept = candidate;
        }
        assertEquals(State.CLOSED, kept.getState());
    }

    @Test
    void aCloseInsideOfTheWorkDoesNotWaitForItself() throws Exception {
        Store store = of(connect("memory:"));
        Candidate candidate = of(campaign(store, "jobs", quick("a").drain(Duration.ofHours(1))));
        var draining = new CompletableFuture<Boolean>();
        var leading = lead(candidate, executor, term -> {
            candidate.close();
            draining.complete(term.isDraining());
        });
        assertTrue(of(draining));
        of(leading);
        of(close(store));
    }

    @Test
    void listenersAreCalledUntilTheyAreClosed() throws Exception {
        var election = new ScriptedElection();
        var events = new LinkedBlockingQueue<Event>();
        var listening = listen(election.getCandidate(), executor, events::add);
        var token = election.acquire();
        Event event;
        do {
            event = events.poll(LIMIT, TimeUnit.SECONDS);
        } while (!(event instanceof Event.Won));
        assertEquals(token, ((Event.Won) event).getTerm().getToken());
        listening.close();
        of(close(election.getCandidate()));
    }

    @Test
    void aFutureThatIsCancelledCancelsItsCall() throws Exception {
        var election = new ScriptedElection();
        var waiting = nextTerm(election.getCandidate());
        waiting.cancel(true);
        election.acquire();
        var term = election.getCandidate().getTerm();
        election.drain(Reason.RESIGNED);
        assertEquals(Reason.RESIGNED, of(ended(term)));
    }
}
