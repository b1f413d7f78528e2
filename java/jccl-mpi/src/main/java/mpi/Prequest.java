package mpi;

/** A send or receive that can be started again and again. */
public final class Prequest extends Request {

    /** Starts the message. */
    @FunctionalInterface
    interface Starter {
        Request start() throws MPIException;
    }

    private final Starter starter;
    private boolean isStarted;

    Prequest(Starter starter) {
        super(null, () -> {});
        this.starter = starter;
    }

    /** Starts the message. */
    public void start() throws MPIException {
        if (isStarted || isNull()) {
            throw new MPIException(MPI.ERR_REQUEST, "start() of a request that is " + (isNull() ? "null" : "active"));
        }
        restart(starter.start());
        isStarted = true;
    }

    /** Starts all requests. */
    public static void startAll(Prequest[] requests) throws MPIException {
        for (Prequest request : requests) {
            request.start();
        }
    }

    @Override
    void seen() {
        isStarted = false;
    }

    @Override
    boolean isActive() {
        return isStarted;
    }
}
