/** Reports to the tools of the JVM: events of JDK Flight Recorder, and the context of log records. */
package io.jccl.events;
