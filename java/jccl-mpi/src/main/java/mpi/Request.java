package mpi;

import io.jccl.MessageReceive;
import io.jccl.MessageStatus;
import io.jccl.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Something that has been started. It is null once its end has been seen. */
public class Request {

    /** Ends a request: copies what was received to where it belongs. */
    @FunctionalInterface
    interface Completion {
        void run() throws MPIException;
    }

    private static final int POLLS_BEFORE_SLEEPS = 200;
    private static final long SLEEP_NANOS = 50_000;

    private @Nullable Work work;
    private @Nullable MessageReceive receive; // the same as `work`, if that receives a message
    private @Nullable Completion completion;
    private Status status = Status.empty();
    private boolean isNull;

    /**
     * @param work what has been started; null if it has ended
     * @param completion called when the end is seen
     */
    Request(@Nullable Work work, Completion completion) {
        this.work = work;
        this.completion = completion;
    }

    /** Returns a request for a message. */
    static Request of(MessageReceive receive, Completion completion) {
        Request made = new Request(receive, completion);
        made.receive = receive;
        return made;
    }

    /** Sets the status that the request ends with. */
    Request with(Status ended) {
        status = ended;
        return this;
    }

    /** Returns a request that is null. */
    static Request none() {
        Request none = new Request(null, () -> {});
        none.isNull = true;
        return none;
    }

    /** Continues with what another request has started. */
    void restart(Request other) {
        work = other.work;
        receive = other.receive;
        completion = other.completion;
        status = other.status;
    }

    /** Returns true if the request's end has been seen. */
    public final boolean isNull() {
        return isNull;
    }

    /** Forgets the request. What it has started goes on. */
    public void free() throws MPIException {
        isNull = true;
    }

    /** Asks to cancel a receive that nothing has matched. The request still has to be waited for. */
    public final void cancel() {
        if (work != null) {
            work.cancel();
        }
    }

    /** Waits for the end. */
    public final void waitFor() throws MPIException {
        waitStatus();
    }

    /** Waits for the end. */
    public final Status waitStatus() throws MPIException {
        if (isNull) {
            return Status.empty();
        }
        Status found = finish();
        seen();
        return found;
    }

    /** Returns true if the request has ended, or is null. */
    public final boolean test() throws MPIException {
        return testStatus() != null;
    }

    /** Returns the status if the request has ended, or is null; otherwise null. */
    public final @Nullable Status testStatus() throws MPIException {
        return isNull || isOver() ? waitStatus() : null;
    }

    /** Like {@link #testStatus}, but the request stays what it is. */
    public final @Nullable Status getStatus() throws MPIException {
        return isNull ? Status.empty() : isOver() ? finish() : null;
    }

    /** Called once the end has been seen. */
    void seen() {
        isNull = true;
    }

    /** Returns true if the request counts in waits for one of several. */
    boolean isActive() {
        return !isNull;
    }

    private boolean isOver() {
        return work == null || work.isDone();
    }

    private Status finish() throws MPIException {
        try {
            if (receive != null) {
                MessageStatus found = receive.receive();
                status = new Status(found.source(), found.tag(), found.bytes(), false, 0);
            } else if (work != null) {
                work.await();
            }
        } catch (CancellationException e) {
            status = new Status(MPI.ANY_SOURCE, MPI.ANY_TAG, 0, true, 0);
            completion = null;
        } catch (RuntimeException e) {
            throw MPIException.of(e);
        }
        work = null;
        receive = null;
        if (completion != null) {
            Completion last = completion;
            completion = null;
            last.run();
        }
        return status;
    }

    /** Waits for all requests. */
    public static void waitAll(Request[] requests) throws MPIException {
        waitAllStatus(requests);
    }

    /** Waits for all requests. */
    public static Status[] waitAllStatus(Request[] requests) throws MPIException {
        Status[] statuses = new Status[requests.length];
        for (int i = 0; i < requests.length; i++) {
            statuses[i] = requests[i].waitStatus().at(i);
        }
        return statuses;
    }

    /** Returns true if all requests have ended. */
    public static boolean testAll(Request[] requests) throws MPIException {
        return testAllStatus(requests) != null;
    }

    /** Returns the statuses if all requests have ended; otherwise null. */
    public static Status @Nullable [] testAllStatus(Request[] requests) throws MPIException {
        for (Request request : requests) {
            if (request.isActive() && !request.isOver()) {
                return null;
            }
        }
        return waitAllStatus(requests);
    }

    /** Waits for one of the requests and returns its place; {@link MPI#UNDEFINED} if all are null. */
    public static int waitAny(Request[] requests) throws MPIException {
        return waitAnyStatus(requests).getIndex();
    }

    /** Waits for one of the requests. */
    public static Status waitAnyStatus(Request[] requests) throws MPIException {
        for (int polls = 0; ; polls++) {
            Status status = testAnyStatus(requests);
            if (status != null) {
                return status;
            }
            pause(polls);
        }
    }

    /** Returns the place of a request that has ended; {@link MPI#UNDEFINED} if there is none. */
    public static int testAny(Request[] requests) throws MPIException {
        Status status = testAnyStatus(requests);
        return status == null ? MPI.UNDEFINED : status.getIndex();
    }

    /** Returns the status of a request that has ended, or that all are null; otherwise null. */
    public static @Nullable Status testAnyStatus(Request[] requests) throws MPIException {
        boolean anyActive = false;
        for (int i = 0; i < requests.length; i++) {
            if (requests[i].isActive()) {
                anyActive = true;
                if (requests[i].isOver()) {
                    return requests[i].waitStatus().at(i);
                }
            }
        }
        return anyActive ? null : Status.empty().at(MPI.UNDEFINED);
    }

    /** Waits until at least one request has ended, and returns the places of all that have; null if all are null. */
    public static int @Nullable [] waitSome(Request[] requests) throws MPIException {
        return places(waitSomeStatus(requests));
    }

    /** Waits until at least one request has ended; returns null if all are null. */
    public static Status @Nullable [] waitSomeStatus(Request[] requests) throws MPIException {
        for (int polls = 0; ; polls++) {
            Status[] some = testSomeStatus(requests);
            if (some == null || some.length > 0) {
                return some;
            }
            pause(polls);
        }
    }

    /** Returns the places of the requests that have ended; null if all are null. */
    public static int @Nullable [] testSome(Request[] requests) throws MPIException {
        return places(testSomeStatus(requests));
    }

    /** Returns the statuses of the requests that have ended; null if all are null. */
    public static Status @Nullable [] testSomeStatus(Request[] requests) throws MPIException {
        List<Status> some = new ArrayList<>();
        boolean anyActive = false;
        for (int i = 0; i < requests.length; i++) {
            if (requests[i].isActive()) {
                anyActive = true;
                if (requests[i].isOver()) {
                    some.add(requests[i].waitStatus().at(i));
                }
            }
        }
        return anyActive ? some.toArray(Status[]::new) : null;
    }

    private static int @Nullable [] places(Status @Nullable [] statuses) {
        if (statuses == null) {
            return null;
        }
        int[] places = new int[statuses.length];
        for (int i = 0; i < places.length; i++) {
            places[i] = statuses[i].getIndex();
        }
        return places;
    }

    private static void pause(int polls) {
        if (polls < POLLS_BEFORE_SLEEPS) {
            Thread.onSpinWait();
        } else {
            LockSupport.parkNanos(SLEEP_NANOS);
        }
    }
}
