package io.jccl.status;

import io.jccl.wire.Reactor;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Asks processes of a job from outside of the job. Only one thread may use it. */
public final class StatusClient implements AutoCloseable {

    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Reactor reactor = new Reactor("jccl-ps", System::nanoTime);
    private final List<StatusQuestion> questions = new ArrayList<>(); // touched only by the reactor's thread

    /** Starts a client without questions. */
    public StatusClient() {
        reactor.every(this::tick);
        reactor.start();
    }

    private long tick(long now) {
        for (StatusQuestion question : List.copyOf(questions)) {
            if (question.tick(now)) {
                questions.remove(question);
            }
        }
        return questions.isEmpty() ? Long.MAX_VALUE / 4 : TICK_NANOS;
    }

    /**
     * The outcome of a question.
     *
     * @param answer the answer; empty if there is none
     * @param reason the reason if there is no answer
     * @param text details
     */
    public record Result(Optional<Answer> answer, Optional<Absentee.Reason> reason, String text) {}

    /**
     * Asks a process. The future completes within {@code limit}, without an answer if none has come by then.
     *
     * @param address a Unix socket of this user, or a TCP port
     * @param key the key to prove at a TCP port
     */
    public CompletableFuture<Result> ask(
            SocketAddress address, Optional<JobIdentity.Key> key, Request request, Duration limit) {
        CompletableFuture<Result> result = new CompletableFuture<>();
        reactor.execute(() -> {
            StatusQuestion question = new StatusQuestion(
                    reactor,
                    List.of(address),
                    key.map(JobIdentity.Key::bytes).orElse(null),
                    request,
                    limit.toNanos(),
                    outcome -> result.complete(new Result(
                            Optional.ofNullable(outcome.answer()),
                            Optional.ofNullable(outcome.reason()),
                            outcome.text())));
            questions.add(question);
            question.start();
            reactor.tickSoon();
        });
        return result;
    }

    @Override
    public void close() {
        reactor.close();
    }
}
