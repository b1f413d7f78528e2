package io.jccl.runtime;

import io.jccl.control.ControlNetwork;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.DeviceEngine;

/**
 * Ends a collective on a device that takes longer than the communicator's time-out. The time counts from the moment
 * when the last rank has entered the collective: a rank may write a checkpoint for hours while the kernels of the others
 * wait. Until then only the heartbeat decides whether a rank lives.
 */
final class DeviceDeadline implements Watchdog.Watched {

    private final DeviceEngine engine;
    private final ControlNetwork control;
    private final long timeoutNanos;

    private long running; // sequence number of the collective whose time counts; 0: none
    private long sinceNanos; // time since which this collective's time counts

    DeviceDeadline(DeviceEngine engine, ControlNetwork control, long timeoutNanos) {
        this.engine = engine;
        this.control = control;
        this.timeoutNanos = timeoutNanos;
    }

    @Override
    public void tick(long nowNanos) {
        long oldest = engine.lastDone() + 1;
        boolean counts = oldest <= Math.min(engine.lastEntered(), control.enteredByAllOnDevice());
        if (!counts || engine.failedSequence() != 0) {
            running = 0;
        } else if (oldest != running) {
            running = oldest;
            sinceNanos = nowNanos;
        } else if (nowNanos - sinceNanos >= timeoutNanos && engine.isWaiting()) {
            engine.abort(Code.TIMEOUT);
        }
    }
}
