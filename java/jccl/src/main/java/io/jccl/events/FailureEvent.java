package io.jccl.events;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;

@Name("io.jccl.Failure")
@Label("Failure")
@Description("A communicator has failed, as all ranks agreed or as this rank saw it")
@Category("JCCL")
final class FailureEvent extends Event {

    @Label("Communicator")
    private String communicator;

    @Label("Rank")
    private int rank;

    @Label("Exception")
    private String exception;

    @Label("Ranks Named")
    @Description("The ranks that the failure names: failed or missing ones")
    private String ranks;

    @Label("Message")
    private String message;

    static void commit(String communicator, int rank, String exception, String message, String ranks) {
        FailureEvent event = new FailureEvent();
        if (event.isEnabled() && event.shouldCommit()) {
            event.communicator = communicator;
            event.rank = rank;
            event.exception = exception;
            event.message = message;
            event.ranks = ranks;
            event.commit();
        }
    }
}
