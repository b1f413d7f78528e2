package io.jccl.spark;

import java.util.Iterator;
import java.util.function.Function;
import scala.collection.AbstractIterator;

/** Iterators of Java and of Scala as each other; Scala's own converters differ between 2.12 and 2.13. */
final class ScalaIterators {

    private ScalaIterators() {}

    /** A Scala iterator as Java's. */
    static <T> Iterator<T> toJava(scala.collection.Iterator<T> iterator) {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return iterator.hasNext();
            }

            @Override
            public T next() {
                return iterator.next();
            }
        };
    }

    /** The elements of a Java iterator, each changed by a function, as a Scala iterator. */
    static <T, R> scala.collection.Iterator<R> toScala(Iterator<T> iterator, Function<T, R> change) {
        return new AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                return iterator.hasNext();
            }

            @Override
            public R next() {
                return change.apply(iterator.next());
            }
        };
    }
}
