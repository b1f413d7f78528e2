/** What JCCL reports to the JVM's own tools: events of JDK Flight Recorder, and the context of log records. */
package io.jccl.events;
